/** Port of the shop's own microservice. */
export const TCP_PORT = 41_231;
