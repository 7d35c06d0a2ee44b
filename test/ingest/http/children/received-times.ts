/** Prints the times of messages as they are received in the zone of this process: one line for each envelope. */
import {
  type RequestEnvelope,
  receivedMessage,
  timeOf,
} from '../../../../src/ingest/http/received-message.js';

const [timestamp = '', receivedAt = '', ...sent] = process.argv.slice(2);
for (const sentAt of sent) {
  const envelope: RequestEnvelope = {
    type: 'track',
    context: {},
    integrations: {},
    receivedAt: Date.parse(receivedAt),
    sentAt: timeOf(sentAt),
    isImport: false,
    ip: undefined,
  };
  const received = receivedMessage({ userId: 'u1', event: 'Opened', timestamp }, envelope);
  console.log(JSON.stringify({ zone: new Date().getTimezoneOffset(), timestamp: received.timestamp }));
}
