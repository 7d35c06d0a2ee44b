/** One wrong option. */
export interface OptionProblem {
  /** Where the option is: `webhooks.urls[5]`. */
  path: string;
  /** What is expected. */
  expected: string;
  /** What was given. Secrets are shown by their type only. */
  given: string;
}

/** Returns a text, followed by one line for each problem. */
export function withProblems(text: string, problems: readonly OptionProblem[]): string {
  const lines = problems.map(
    ({ path, expected, given }) => `  - \`${path}\`: expected ${expected}, got ${given}`,
  );
  return [`${text}:`, ...lines].join('\n');
}
