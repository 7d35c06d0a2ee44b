/** A request of the browser library, with `WRITE_KEY` where the key stands. */
export interface RecordedRequest {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** One call per request, as the library sends calls by default. */
export const PAGE_VIEW: RecordedRequest = {
  path: '/v1/p',
  headers: { 'content-type': 'text/plain' },
  body:
    '{"timestamp":"2020-05-05T10:00:00.000Z","integrations":{},"anonymousId":"3e5ba2ab","type":"page",' +
    '"properties":{"path":"/shoes","referrer":"","search":"","title":"Shoes","url":"https://shop.example/shoes"},' +
    '"name":null,"category":null,"context":{"page":{"path":"/shoes","referrer":"","search":"","title":"Shoes",' +
    '"url":"https://shop.example/shoes"},"userAgent":"Mozilla/5.0","locale":"de-DE","library":' +
    '{"name":"analytics.js","version":"next-1.81.0"},"timezone":"Europe/Berlin"},' +
    '"messageId":"ajs-next-1795224532709-d25b3eee","writeKey":"WRITE_KEY","userId":null,' +
    '"_metadata":{"bundled":["Segment.io"],"unbundled":[],"bundledIds":[]}}',
};

/** Sent while a page closes: a beacon has no headers of its own. */
export const BEACON: RecordedRequest = {
  path: '/v1/t',
  headers: { 'content-type': 'text/plain;charset=UTF-8' },
  body:
    '{"timestamp":"2020-05-05T10:00:00.000Z","integrations":{"All":true},"anonymousId":"3e5ba2ab","type":"track",' +
    '"event":"Tab Closed","properties":{},"context":{"library":{"name":"analytics.js","version":"next-1.81.0"}},' +
    '"messageId":"ajs-next-1795224532710-e36c4fff","writeKey":"WRITE_KEY"}',
};

/** Calls collected by the library's batching. */
export const BATCHED: RecordedRequest = {
  path: '/v1/b',
  headers: {
    'content-type': 'text/plain',
    authorization: `Basic ${Buffer.from('wk_web:').toString('base64')}`,
  },
  body:
    '{"batch":[{"timestamp":"2020-05-05T10:00:00.000Z","integrations":{},"userId":"97980cfea0067",' +
    '"anonymousId":"3e5ba2ab","type":"identify","traits":{"plan":"pro"},"context":{"library":' +
    '{"name":"analytics.js","version":"next-1.81.0"}},"messageId":"ajs-next-1795224532711-f47d5aaa",' +
    '"_metadata":{"bundled":[]}},{"timestamp":"2020-05-05T10:00:01.000Z","integrations":{},' +
    '"userId":"97980cfea0067","anonymousId":"3e5ba2ab","type":"track","event":"Shoe Liked","properties":{},' +
    '"context":{"library":{"name":"analytics.js","version":"next-1.81.0"}},' +
    '"messageId":"ajs-next-1795224532712-058e6bbb"}],"sentAt":"2020-05-05T10:00:02.000Z","writeKey":"WRITE_KEY"}',
};
