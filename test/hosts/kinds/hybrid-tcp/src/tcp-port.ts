/** Where the shop's own microservice listens. */
export const TCP_PORT = 41_231;
