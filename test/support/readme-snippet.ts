/** Returns the code after the marker `<!-- test: name -->` in the README or another page of the documentation. */
export function readmeSnippet(page: string, name: string): string {
  const code = new RegExp(`<!-- test: ${name} -->\\n+\`\`\`\\w+\\n([^]*?)\`\`\``).exec(page)?.[1];
  if (code === undefined) throw new Error(`The page has no snippet "${name}"`);
  return code;
}
