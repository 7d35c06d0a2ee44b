import { once } from 'node:events';

/** Asks a process something, and returns its answer. The questions of a benchmark come one after the other. */
export async function ask(child, question) {
  const answered = once(child, 'message');
  child.send(question);
  const [answer] = await answered;
  return answer;
}
