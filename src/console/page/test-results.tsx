import type { JSX } from 'preact';
import type { TestResult } from '../../webhooks/endpoint.js';
import { hintFor } from './error-hints.js';

const PHASES = { dns: 'DNS', connect: 'connect', tls: 'TLS', firstByte: 'first byte' } as const;
const WIDTH = 1_000;
const HEIGHT = 10;

/** The answer of each URL to a test event. */
export function TestResults({ results }: { results: TestResult[] }): JSX.Element {
  return (
    <div role="status">
      <ul>
        {results.map((result) => (
          <li key={result.url}>
            <span class={result.class === 'delivered' ? 'good' : 'bad'}>{result.status ?? result.error}</span>{' '}
            from {result.origin} in {Math.round(result.duration)} ms. {hintFor(result)}
            {result.excerpt !== undefined && <code>{result.excerpt}</code>}
            <Phases phases={result.phases} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** How long each part of a request took, as a bar. */
function Phases({ phases }: Pick<TestResult, 'phases'>): JSX.Element {
  const names = (Object.keys(PHASES) as (keyof typeof PHASES)[]).filter((name) => phases[name] !== undefined);
  const total = names.reduce((sum, name) => sum + (phases[name] ?? 0), 0);
  const text = names.map((name) => `${PHASES[name]} ${phases[name]} ms`).join(', ');
  let x = 0;
  return (
    <>
      <svg
        class="phases"
        role="img"
        aria-label={text}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {names.map((name) => {
          const width = total === 0 ? 0 : ((phases[name] ?? 0) / total) * WIDTH;
          const bar = <rect key={name} class={name} x={x} y={0} width={width} height={HEIGHT} />;
          x += width;
          return bar;
        })}
      </svg>
      <small>{text}</small>
    </>
  );
}
