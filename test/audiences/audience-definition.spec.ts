import { describe, expect, it } from '@jest/globals';
import { traitOf } from '../../src/audiences/audience-definition.js';

describe('the property of an audience', () => {
  it.each([
    ['Big Spenders', 'big_spenders'],
    ['bigSpenders', 'big_spenders'],
    ['  Big--Spenders! ', 'big_spenders'],
    ['VIP', 'vip'],
    ['Größte Käufer', 'größte_käufer'],
    ['ΜΕΓΑΛΟΙ', 'μεγαλοι'],
    ['日本 ユーザー', '日本_ユーザー'],
    ['INFO', 'info'],
    ['नमस्ते दुनिया', 'नमस्ते_दुनिया'],
    ['สวัสดี ชาวโลก', 'สวัสดี_ชาวโลก'],
    ['x̧Big Y', 'x̧_big_y'],
    ['VIPUsers', 'vip_users'],
    ['I ❤️ 1️⃣ tea', 'i_1_tea'],
    ['top 10', 'top_10'],
  ])('is the snake_case form of the audience’s name: %s becomes %s', (name, trait) => {
    expect(traitOf(name)).toBe(trait);
  });

  it('does not depend on the Unicode normalization of the name', () => {
    expect(traitOf('Käufer'.normalize('NFD'))).toBe(traitOf('Käufer'.normalize('NFC')));
  });

  it.each(['', '!!!', ' ', '🚀', 'x'.repeat(201), 'a\0b', 'a\ud800', '\u0301'])(
    'cannot be derived from the name %j',
    (name) => {
      expect(() => traitOf(name)).toThrow(expect.objectContaining({ code: 'INVALID_AUDIENCE_NAME' }));
    },
  );
});
