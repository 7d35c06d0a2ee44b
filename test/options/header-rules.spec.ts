import { describe, expect, it } from '@jest/globals';
import { headerProblems } from '../../src/options/header-rules.js';

describe('the rules for static headers', () => {
  it('accept up to five headers with printable ASCII values', () => {
    const headers = {
      'X-Env': 'prod',
      Authorization: 'Bearer a b',
      "x-!#$%&'*+.^_`|~": '~ !',
      E: '',
      Cookie: 'a=b',
    };
    expect(headerProblems(headers)).toEqual([]);
    expect(headerProblems({})).toEqual([]);
  });

  it('refuse a sixth header', () => {
    const headers = { a: '1', b: '2', c: '3', d: '4', e: '5', f: '6' };
    expect(headerProblems(headers)).toEqual([{ path: 'headers', expected: 'at most 5 headers', given: '6' }]);
  });

  it.each([
    'Host', 'content-length', 'Content-Type', 'content-encoding', 'Transfer-Encoding', 'TE', 'trailer',
    'Connection', 'keep-alive', 'Upgrade', 'expect', 'Proxy-Authorization', 'proxy-', 'User-Agent',
    'accept-encoding', 'X-SIGNATURE', 'webhook-id', 'Webhook-Timestamp',
  ])('refuse the name %s', (name) => {
    expect(headerProblems({ [name]: 'x' })).toMatchObject([{ path: `headers["${name}"]` }]);
  }); // prettier-ignore

  it.each(['', 'a b', 'a:b', 'ä', 'a\r\nb', '(a)'])('refuse %j as a name', (name) => {
    expect(headerProblems({ [name]: 'x' })).toHaveLength(1);
  });

  it.each(['a\rb', 'a\nb', 'a\0b', 'a\tb', 'ä', '\x7f', ' a', 'a '])('refuse %j as a value', (value) => {
    expect(headerProblems({ 'X-Env': value })).toMatchObject([{ path: 'headers["X-Env"]' }]);
  });

  it('refuse a value that is not a string, and name its type', () => {
    expect(headerProblems({ 'X-Env': undefined })).toMatchObject([{ given: 'undefined' }]);
    expect(headerProblems({ 'X-Env': ['a'] })).toMatchObject([{ given: 'an array' }]);
    expect(headerProblems({ 'X-Env': null })).toMatchObject([{ given: 'null' }]);
  });

  it('refuse a name that is repeated in another case', () => {
    expect(headerProblems({ 'X-Env': 'a', 'x-env': 'b' })).toMatchObject([{ path: 'headers["x-env"]' }]);
  });

  it('report every header that breaks a rule, and never its value', () => {
    const problems = headerProblems({ Host: 'top-secret', 'X-A': 'top-secret\n', 'X-B': 'top-secret ' });
    expect(problems).toHaveLength(3);
    expect(JSON.stringify(problems)).not.toContain('top-secret');
  });
});
