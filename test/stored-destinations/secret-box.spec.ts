import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SecretBox } from '../../src/stored-destinations/secret-box.js';

const [OLD, NEW, OTHER] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const SECRETS = {
  headers: { Authorization: 'Bearer 1234' },
  sharedSecret: 'teehee',
  standardWebhooks: { secret: 'whsec_new' },
  retiring: [{ secret: 'whsec_old', until: 5 }],
};
const RECORD = { id: 'a', tenant: 'acme', urls: ['https://hooks.example.com'], ...SECRETS };
const KEY_ERROR = expect.objectContaining({ code: 'DESTINATION_KEY', destination: 'a' });

describe('a secret box', () => {
  it('leaves no secret in a stored record, and restores all secrets', () => {
    const sealed = new SecretBox([NEW]).seal(RECORD);
    const { urls, tenant } = RECORD;
    expect(sealed).toEqual({ id: 'a', tenant, urls, sealed: expect.stringMatching(/^v1\./) });
    expect(new SecretBox([NEW]).open(sealed)).toEqual(SECRETS);
  });

  it('opens with every key of the list, and seals with the first key', () => {
    const sealed = new SecretBox([OLD]).seal(RECORD);
    expect(new SecretBox([NEW, OLD]).open(sealed)).toEqual(SECRETS);
    const again = new SecretBox([NEW, OLD]).seal(RECORD);
    expect(new SecretBox([NEW]).open(again)).toEqual(SECRETS);
  });

  it('never writes the same text twice', () => {
    const box = new SecretBox([NEW]);
    expect(box.seal(RECORD).sealed).not.toBe(box.seal(RECORD).sealed);
  });

  it('names the destination that it cannot open without the key', () => {
    const sealed = new SecretBox([OLD]).seal(RECORD);
    expect(() => new SecretBox([NEW, OTHER]).open(sealed)).toThrow(KEY_ERROR);
    expect(() => new SecretBox([]).open(sealed)).toThrow(KEY_ERROR);
  });

  it('refuses a text that was changed, or that belongs to another destination', () => {
    const box = new SecretBox([NEW]);
    const { sealed = '' } = box.seal({ ...RECORD, id: 'b' });
    expect(() => box.open({ ...RECORD, sealed })).toThrow(KEY_ERROR);
    const own = box.seal(RECORD).sealed ?? '';
    const changed = own.slice(0, -2) + (own.endsWith('AA') ? 'BB' : 'AA');
    expect(() => box.open({ ...RECORD, sealed: changed })).toThrow(KEY_ERROR);
    expect(() => box.open({ ...RECORD, sealed: 'v2.x.y' })).toThrow(KEY_ERROR);
  });

  it('stores secrets in plain text if there is no key', () => {
    const box = new SecretBox([]);
    expect(box.seal(RECORD)).toEqual(RECORD);
    expect(box.open(RECORD)).toEqual(SECRETS);
  });
});
