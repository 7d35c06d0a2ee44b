/**
 * Endings of the hash tags of all partitions but the first. For any n, the slots of the first n tags are divided evenly
 * among two to eight masters that share all slots evenly. Found by trying all pairs of letters and digits.
 */
const ENDINGS =
  'ac ab ad a0 a3 a1 a2 bc ba bb b1 tk c8 kh bq c6 f7 aq as c1 am ez yl br bm bs hw bd fs do m7'.split(' ');

const TAG = 'nestjs-analytics';

/** Returns what the keys of a partition begin with: a hash tag that keeps them in one slot of a Redis Cluster. */
export function prefixOf(partition: number): string {
  const ending = ENDINGS[partition - 1];
  return ending === undefined ? `{${TAG}}` : `{${TAG}:${ending}}`;
}
