import { describe, expect, it } from '@jest/globals';
import { BATCH_JOB_VERSION } from '../../src/queue/batch-job.js';
import { readJob } from '../../src/queue/read-job.js';
import { storedData } from '../../src/queue/stored-data.js';

const outcome = { url: 'hash', class: 'retry' as const, status: 503, attempt: 1, at: 5, duration: 2 };
const message = { id: 'm1', body: '{"type":"track"}', outcomes: [outcome] };
const batch = { destination: 'crm', source: 'web', messages: [message] };
const job = { v: BATCH_JOB_VERSION, batches: [batch] };

const withBatch = (fields: object): unknown => ({ ...job, batches: [batch, { ...batch, ...fields }] });
const withMessage = (fields: object): unknown =>
  withBatch({ messages: [message, { ...message, ...fields }] });
const withOutcome = (fields: object): unknown => withMessage({ outcomes: [{ ...outcome, ...fields }] });

describe('the data of a job', () => {
  it.each([
    [
      'as a producer writes it',
      { ...job, batches: [{ ...batch, messages: [{ ...message, outcomes: [] }] }] },
    ],
    ['with what the URLs answered', job],
    ['with its times', withBatch({ firstAttemptAt: 1, notBefore: 2 })],
    ['with a message that failed for good', withMessage({ failedAt: 3 })],
    ['with a message that is about to be delivered again', withMessage({ failedAt: 3, replay: 'replay-1' })],
    ['with what a message carries of its call', withMessage({ call: { at: 1, traceparent: '00-a-b-01' } })],
    ['with an outcome without a response', withOutcome({ status: undefined, error: 'TIMEOUT' })],
    ['with keys that came later', { ...job, tenant: 'a', batches: [{ ...batch, tenant: 'a' }] }],
  ])('is read %s', (_, data) => {
    expect(readJob(data)).toEqual(data);
  });

  it('is read in the previous format, in which no messages share a body', () => {
    expect(readJob({ v: 2, batches: [batch, batch] })).toEqual({ ...job, batches: [batch, batch] });
    expect(readJob({ v: 2, batches: [{ ...batch, destination: 7 }] })).toMatchObject({ code: 'INVALID_JOB' });
  });

  it('is stored in the previous format if no messages share a body, so that older workers read it too', () => {
    expect(storedData({ ...job, batches: [batch] })).toEqual({ v: 2, batches: [batch] });
    const other = { ...batch, messages: [{ ...message, body: '{}' }] };
    expect(storedData({ ...job, batches: [batch, other] })).toEqual({ v: 2, batches: [batch, other] });
  });

  it('is stored without characters in outcomes that PostgreSQL refuses', () => {
    const refused = { ...outcome, url: 'a\0', error: '\ud83d', excerpt: 'b\0c' };
    const stored = storedData({
      ...job,
      batches: [{ ...batch, messages: [{ ...message, outcomes: [refused] }] }],
    });
    const outcomes = [{ ...outcome, url: 'a\uFFFD', error: '\uFFFD', excerpt: 'b\uFFFDc' }];
    expect(stored.batches).toEqual([{ ...batch, messages: [{ ...message, outcomes }] }]);
  });

  it('is read with shared bodies in the places of their messages', () => {
    const other = { ...message, id: 'm2', body: '{"type":"page"}' };
    const data = { ...job, tenant: 'a', batches: [batch, { ...batch, messages: [other, message] }] };
    const stored = storedData(data);
    expect(stored).toMatchObject({ bodies: [message.body, other.body], tenant: 'a' });
    expect(JSON.stringify(stored).split(JSON.stringify(message.body))).toHaveLength(2);
    expect(readJob(JSON.parse(JSON.stringify(stored)))).toEqual(data);
  });

  it('is read with the shared data of a call in the places of its messages', () => {
    const call = { at: 1, traceparent: '00-a-b-01' };
    const traced = { ...message, call };
    const data = { ...job, batches: [{ ...batch, messages: [traced, message, { ...traced, id: 'm2' }] }] };
    const stored = storedData(data);
    expect(stored).toMatchObject({ v: 2, calls: [call] });
    const text = JSON.stringify(stored);
    expect(text.split(call.traceparent)).toHaveLength(2);
    expect(readJob(JSON.parse(text))).toEqual(data);
    expect(storedData(data)).toEqual(stored);
  });

  it('is read without the call of a message that an older worker has moved to another job', () => {
    const data = { ...job, batches: [{ ...batch, messages: [{ ...message, callIndex: 7 }] }] };
    expect(readJob(structuredClone(data))).toEqual(job);
    expect(readJob({ ...structuredClone(data), calls: [{ at: 1 }] })).toEqual(job);
  });

  it('stays as it is if something is wrong, so that it can be shown', () => {
    const data = {
      ...job,
      bodies: ['{}'],
      batches: [{ ...batch, messages: [{ ...message, body: 0 }, null] }],
    };
    const before = structuredClone(data);
    expect(readJob(data)).toMatchObject({ code: 'INVALID_JOB' });
    expect(data).toEqual(before);
  });

  it.each([
    ['data', undefined],
    ['data', null],
    ['data', 'a string'],
    ['data', 7],
    ['data', []],
    ['data.v', {}],
    ['data.bodies', { ...job, bodies: 'a text' }],
    ['data.bodies', { ...job, bodies: [7] }],
    ['data.calls', { ...job, calls: 'now' }],
    ['data.calls', { ...job, calls: [{ at: 'now' }] }],
    [
      'data.batches[0].messages[0].body',
      { ...job, bodies: [], batches: [{ ...batch, messages: [{ ...message, body: 0 }] }] },
    ],
    ['data.v', { v: '2', batches: [] }],
    ['data.batches', { v: BATCH_JOB_VERSION }],
    ['data.batches', { ...job, batches: {} }],
    ['data.batches', { ...job, batches: [] }],
    ['data.batches[0]', { ...job, batches: [null] }],
    ['data.batches[1].destination', withBatch({ destination: undefined })],
    ['data.batches[1].source', withBatch({ source: 7 })],
    ['data.batches[1].firstAttemptAt', withBatch({ firstAttemptAt: 'now' })],
    ['data.batches[1].notBefore', withBatch({ notBefore: null })],
    ['data.batches[1].notBefore', withBatch({ notBefore: Infinity })],
    ['data.batches[1].messages', withBatch({ messages: undefined })],
    ['data.batches[1].messages', withBatch({ messages: 'none' })],
    ['data.batches[1].messages', withBatch({ messages: [] })],
    ['data.batches[1].messages[1]', withBatch({ messages: [message, 'text'] })],
    ['data.batches[1].messages[1].id', withMessage({ id: 1 })],
    ['data.batches[1].messages[1].id', withMessage({ id: '' })],
    ['data.batches[1].messages[1].id', withMessage({ id: 'a\r\nb: c' })],
    ['data.batches[1].messages[1].body', withMessage({ body: undefined })],
    ['data.batches[1].messages[1].body', withMessage({ body: { type: 'track' } })],
    ['data.batches[1].messages[1].failedAt', withMessage({ failedAt: -1 })],
    ['data.batches[1].messages[1].replay', withMessage({ replay: 1 })],
    ['data.batches[1].messages[1].call', withMessage({ call: 'now' })],
    ['data.batches[1].messages[1].call', withMessage({ call: { at: 1, traceparent: 2 } })],
    ['data.batches[1].messages[1].outcomes', withMessage({ outcomes: undefined })],
    ['data.batches[1].messages[1].outcomes[0]', withMessage({ outcomes: [null] })],
    ['data.batches[1].messages[1].outcomes[0].url', withOutcome({ url: 1 })],
    ['data.batches[1].messages[1].outcomes[0].class', withOutcome({ class: 'lost' })],
    ['data.batches[1].messages[1].outcomes[0].status', withOutcome({ status: '503' })],
    ['data.batches[1].messages[1].outcomes[0].error', withOutcome({ error: 1 })],
    ['data.batches[1].messages[1].outcomes[0].excerpt', withOutcome({ excerpt: {} })],
    ['data.batches[1].messages[1].outcomes[0].attempt', withOutcome({ attempt: NaN })],
    ['data.batches[1].messages[1].outcomes[0].at', withOutcome({ at: '5' })],
    ['data.batches[1].messages[1].outcomes[0].duration', withOutcome({ duration: null })],
  ])('is refused when `%s` is not as a producer writes it: case %#', (path, data) => {
    expect(readJob(data)).toMatchObject({
      code: 'INVALID_JOB',
      path,
      message: expect.stringContaining(`\`${path}\` of the job`),
    });
  });

  it.each([0, 1, 4, 99, -1])('is refused as that of another version when it has format %s', (v) => {
    expect(readJob({ v, batches: [null] })).toMatchObject({
      code: 'UNKNOWN_JOB_FORMAT',
      message: expect.stringContaining(String(v)),
    });
  });
});
