/** The code in the README, or in a page of the documentation, that the marker `<!-- test: name -->` stands before. */
export function readmeSnippet(page: string, name: string): string {
  const code = new RegExp(`<!-- test: ${name} -->\\n+\`\`\`\\w+\\n([^]*?)\`\`\``).exec(page)?.[1];
  if (code === undefined) throw new Error(`The page has no snippet "${name}"`);
  return code;
}
