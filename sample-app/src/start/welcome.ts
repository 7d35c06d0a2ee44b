import type { Settings } from './settings.js';

/** Returns the text that the terminal shows once the shop is open: addresses, and commands to try. */
export function welcome({ port, queueUrl, worker }: Settings): string {
  const url = `http://localhost:${port}`;
  const queue = queueUrl === undefined ? 'embedded, in the folder .analytics' : 'at QUEUE_URL';
  return `
  The shop is open:   ${url}
  Order something:    curl -X POST ${url}/orders -d product=mug
  Watch it arrive:    curl -N ${url}/deliveries
  Open the console:   ${url}/analytics

  The queue is ${queue}. ${worker ? 'You can kill this process at any time: what was ordered is not lost.' : NO_WORKER}
`;
}

const NO_WORKER =
  'This process delivers nothing (WORKER=false).\n  To deliver, start one on the same queue without WORKER=false.';
