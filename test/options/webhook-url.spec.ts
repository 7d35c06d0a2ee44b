import { describe, expect, it } from '@jest/globals';
import { hashUrl, urlProblems } from '../../src/options/webhook-url.js';

const PUBLIC_ONLY = { allowPrivateNetwork: false };
const url = (index: number): string => `https://hooks.example.com/${index}`;

describe('the rules for URLs', () => {
  it('accept one to five http and https URLs, as text or URL', () => {
    expect(urlProblems(['http://a.example:8080/x?y=1', new URL(url(1))], PUBLIC_ONLY)).toEqual([]);
    expect(urlProblems([1, 2, 3, 4, 5].map(url), PUBLIC_ONLY)).toEqual([]);
  });

  it('refuse a sixth URL, and an empty list', () => {
    const problem = { path: 'urls', expected: '1 to 5 URLs' };
    expect(urlProblems([1, 2, 3, 4, 5, 6].map(url), PUBLIC_ONLY)).toEqual([{ ...problem, given: '6' }]);
    expect(urlProblems([], PUBLIC_ONLY)).toEqual([{ ...problem, given: '0' }]);
  });

  it.each([
    ['a relative one', '/events'],
    ['one without a scheme', 'hooks.example.com/events'],
    ['another scheme', 'ftp://hooks.example.com/'],
    ['a user name', 'https://me@hooks.example.com/'],
    ['a password', 'https://:secret@hooks.example.com/'],
    ['an empty text', ''],
    ['something that is not a text', undefined],
  ])('refuse %s', (_, value) => {
    expect(urlProblems([url(1), value], PUBLIC_ONLY)).toMatchObject([{ path: 'urls[1]' }]);
  });

  it('refuse a duplicate, however it is written', () => {
    for (const other of ['HTTPS://Hooks.Example.com:443/1', `${url(1)}#part`]) {
      expect(urlProblems([url(1), other], PUBLIC_ONLY)).toMatchObject([{ path: 'urls[1]' }]);
    }
  });

  it.each([
    'http://127.0.0.1/', 'http://2130706433/', 'http://0x7f.1/', 'http://0177.0.0.1/', 'http://127.1/',
    'http://１２７.0.0.1/', 'http://10.0.0.1./', 'http://[::1]/', 'http://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest', 'http://[fd00::1]/', 'http://0/',
    'http://localhost/', 'https://LOCALHOST:3000/x', 'http://localhost./', 'http://hooks.localhost/',
  ])('refuse the private address in %s, unless private networks are allowed', (value) => {
    expect(urlProblems([value], PUBLIC_ONLY)).toMatchObject([{ path: 'urls[0]' }]);
    expect(urlProblems([value], { allowPrivateNetwork: true })).toEqual([]);
  }); // prettier-ignore

  it('accept a literal public address, and a name that only looks like a name of this machine', () => {
    expect(
      urlProblems(
        [
          'http://8.8.8.8/',
          'http://notlocalhost/',
          'https://localhost.example.com/',
          'http://[2606:4700::1111]/',
        ],
        PUBLIC_ONLY,
      ),
    ).toEqual([]);
  });

  it('report problems without the URL', () => {
    const problems = urlProblems(
      ['ftp://t0ken.example/t0ken', 'https://t0ken:t0ken@a.example/'],
      PUBLIC_ONLY,
    );
    expect(problems).toHaveLength(2);
    expect(JSON.stringify(problems)).not.toContain('t0ken');
  });
});

describe('the hash of a URL', () => {
  it('is short and stable, and reveals nothing of the URL', () => {
    const secret = new URL('https://hooks.example.com/services/t0ken?key=t0ken');
    expect(hashUrl(secret)).toBe(hashUrl(new URL(`${secret.href}#part`)));
    expect(hashUrl(secret)).toMatch(/^[0-9a-f]{16}$/);
  });

  it('differs if path, query or origin differ', () => {
    const urls = ['https://a.example/', 'http://a.example/', 'https://a.example/?b', 'https://a.example/b'];
    expect(new Set(urls.map((value) => hashUrl(new URL(value)))).size).toBe(urls.length);
  });
});
