/** The `User-Agent` of every request that this module sends. */
export const USER_AGENT = 'NestAnalytics/1.0';
