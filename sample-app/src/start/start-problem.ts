/** Something that whoever started the shop can put right; the text says how, so no stack is shown. */
export class StartProblem extends Error {}
