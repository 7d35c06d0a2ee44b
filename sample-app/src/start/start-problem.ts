/** A problem that the user can fix. The message says how, so no stack trace is shown. */
export class StartProblem extends Error {}
