import type { Cluster, Redis } from 'ioredis';

/** Commands without a key. `ioredis` would send them to any node, even to one that hangs. */
const KEYLESS = new Set(['info', 'cluster']);

/**
 * Sends commands without a key to the master that has answered last when it was asked for the slots, or to any node if a
 * replica has. They come before a queue or a worker can do anything, so one that hangs would stop the partitions on all
 * nodes.
 *
 * @returns a function to call with each node that is asked for the slots
 */
export function preferAnsweringNode(cluster: Cluster): (asked: Redis) => void {
  let asked: Redis | undefined;
  let slot: number | undefined;
  cluster.on('refresh', () => {
    slot = asked && slotOf(cluster, asked);
  });
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command, ...to) => {
    const known = slot;
    // If that node is gone by then, any other one is tried.
    if (known !== undefined && KEYLESS.has(command.name)) command.getSlot = () => known;
    return send(command, ...to);
  };
  return (node) => {
    asked = node;
  };
}

/** Returns a slot whose master is this node; `undefined` for a replica. */
function slotOf({ slots }: Cluster, { options: { host, port } }: Redis): number | undefined {
  // Slots that no node serves are missing from the array.
  const slot = slots.findIndex((keys: readonly string[] | undefined) => keys?.[0] === `${host}:${port}`);
  return slot === -1 ? undefined : slot;
}
