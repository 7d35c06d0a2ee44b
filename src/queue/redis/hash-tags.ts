/**
 * What the tags of the partitions after the first end in. The slots of the first n tags are divided evenly among
 * two to eight masters whose slots are, for any n: found by trying all pairs of letters and digits.
 */
const ENDINGS =
  'ac ab ad a0 a3 a1 a2 bc ba bb b1 tk c8 kh bq c6 f7 aq as c1 am ez yl br bm bs hw bd fs do m7'.split(' ');

const TAG = 'nestjs-analytics';

/** What the keys of a partition begin with: its hash tag, so that they are in one slot of a Redis Cluster. */
export function prefixOf(partition: number): string {
  const ending = ENDINGS[partition - 1];
  return ending === undefined ? `{${TAG}}` : `{${TAG}:${ending}}`;
}
