import type { ComponentChildren, JSX } from 'preact';
import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import { Status } from './destination-list.js';
import { numberText } from './number-text.js';
import { Time } from './parts.js';

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

interface DestinationFactsProps {
  destination: DestinationDetails;
  isOperator: boolean;
}

/** The settings of a destination, including all that decide which events it gets and how long they are retried. */
export function DestinationFacts({ destination, isOperator }: DestinationFactsProps): JSX.Element {
  const { urls, tenant, events, types, sources, headers, rateLimit, createdAt } = destination;
  const { timeout, retryWindow, retryStatuses } = destination;
  const facts: [name: string, fact: ComponentChildren][] = [
    ['Status', <Status key="" destination={destination} />],
    ['URLs', urls.map((url) => <code key={url}>{url}</code>)],
    ['Tenant', isOperator ? (tenant ?? 'all') : ''],
    ['Events', events?.join(', ') ?? 'all'],
    ['Types', typesText(types, events)],
    ['Sources', sources?.join(', ')],
    ['Headers', headers?.join(', ')],
    ['Rate limit', rateLimit === undefined ? '' : `${numberText(rateLimit)} requests a second`],
    ['Timeout', timeout === undefined ? '' : durationText(timeout)],
    ['Retried for', retryWindow === undefined ? '' : durationText(retryWindow)],
    ['Retried after', retryStatuses?.join(', ')],
    ['Signed with', urls.length > 0 ? signaturesOf(destination) : ''],
    ['Created', createdAt > 0 ? <Time at={createdAt} /> : ''],
  ];
  return (
    <dl>
      {facts
        .filter(
          ([, fact]) => fact !== undefined && fact !== '' && !(Array.isArray(fact) && fact.length === 0),
        )
        .flatMap(([name, fact]) => [<dt key={`${name} name`}>{name}</dt>, <dd key={name}>{fact}</dd>])}
    </dl>
  );
}

/** A destination that names events gets only `track`, unless it names types as well. */
function typesText(types?: readonly string[], events?: readonly string[]): string | undefined {
  return types?.join(', ') ?? (events && 'track');
}

/** Formats a duration as a whole number of the largest unit that divides it. */
function durationText(milliseconds: number): string {
  const [size, unit] = UNITS.find(([each]) => milliseconds >= each && milliseconds % each === 0) ?? [
    1,
    'millisecond',
  ];
  const count = milliseconds / size;
  return `${numberText(count)} ${unit}${count === 1 ? '' : 's'}`;
}

function signaturesOf({ signatures }: DestinationDetails): string {
  if (signatures === undefined) return 'a secret that cannot be decrypted';
  return signatures.length === 0 ? 'nothing' : signatures.join(', ');
}
