import type { Settings } from './settings.js';

/** What the terminal shows once the shop is open: where to click, and what to curl. */
export function welcome({ port, queueUrl, worker }: Settings): string {
  const url = `http://localhost:${port}`;
  const queue = queueUrl === undefined ? 'embedded, in the folder .analytics' : 'at QUEUE_URL';
  return `
  The shop is open:   ${url}
  Order something:    curl -X POST ${url}/orders -d product=mug
  Watch it arrive:    curl -N ${url}/deliveries
  Open the console:   ${url}/analytics

  The queue is ${queue}. ${worker ? 'Kill this process whenever you like: nothing ordered is lost.' : NO_WORKER}
`;
}

const NO_WORKER =
  'This process does not deliver (WORKER=false):\n  start one without WORKER=false on the same queue, and it does.';
