import { type InFlight, InFlightList } from '../../../src/webhooks/http/in-flight-list.js';

interface Item extends InFlight {
  name: string;
}

function listOf(...names: string[]): { list: InFlightList<Item>; items: Map<string, Item> } {
  const list = new InFlightList<Item>();
  const items = new Map(names.map((name) => [name, { name, position: -1 }]));
  for (const item of items.values()) list.add(item);
  return { list, items };
}

function remove({ list, items }: ReturnType<typeof listOf>, name: string): void {
  const item = items.get(name);
  if (item !== undefined) list.delete(item);
}

function namesOf({ list }: ReturnType<typeof listOf>): string[] {
  return Array.from(list, ({ name }) => name).sort();
}

describe('the list of requests in flight', () => {
  it.each([
    ['the first', 'a', ['b', 'c']],
    ['one in the middle', 'b', ['a', 'c']],
    ['the last', 'c', ['a', 'b']],
  ])('keeps the other items if %s is deleted', (_which, name, left) => {
    const all = listOf('a', 'b', 'c');
    remove(all, name);
    expect(namesOf(all)).toEqual(left);
  });

  it('deletes an item that was moved by an earlier deletion', () => {
    const all = listOf('a', 'b', 'c');
    remove(all, 'a');
    remove(all, 'c');
    expect(namesOf(all)).toEqual(['b']);
    remove(all, 'b');
    expect(namesOf(all)).toEqual([]);
  });

  it('iterates over all items even if each is deleted on the way', () => {
    const { list } = listOf('a', 'b', 'c');
    const seen: string[] = [];
    for (const item of list) {
      seen.push(item.name);
      list.delete(item);
    }
    expect(seen).toEqual(['a', 'b', 'c']);
    expect([...list]).toEqual([]);
  });
});
