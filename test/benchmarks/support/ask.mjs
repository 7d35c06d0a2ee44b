import { once } from 'node:events';

/** Asks a process something, and resolves to its answer. A benchmark asks one question at a time. */
export async function ask(child, question) {
  const answered = once(child, 'message');
  child.send(question);
  const [answer] = await answered;
  return answer;
}
