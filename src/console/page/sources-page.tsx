import type { JSX } from 'preact';
import type { SourceReport } from '../console-reports.js';
import type { Api } from './api.js';
import { snippetsFor } from './client-snippets.js';
import { PageHeading } from './page-heading.js';
import { Action, Copyable, NotLoaded, Problem } from './parts.js';
import { useLoaded } from './use-loaded.js';

/** Where events come from, and how a client is connected. */
export function SourcesPage({ api }: { api: Api }): JSX.Element {
  const loaded = useLoaded((signal) => api.sources(signal), 'sources');
  const { value, error, reload } = loaded;
  if (value === undefined) return <NotLoaded loaded={loaded} />;
  const { sources, trackingPath } = value;
  // The snippets put the path between single quotes.
  const outside = api.base.replaceAll("'", '%27');
  return (
    <article>
      <PageHeading>Sources</PageHeading>
      <Problem error={error} />
      {trackingPath === undefined && (
        <p>
          Clients outside this application cannot send events: turn on <code>trackingApi</code>, and this page
          shows how to connect them.
        </p>
      )}
      {sources.map((source) => (
        <Source
          key={source.name}
          source={source}
          trackingPath={trackingPath === undefined ? undefined : outside + trackingPath}
        />
      ))}
      <Action run={reload}>Refresh</Action>
    </article>
  );
}

interface SourceProps {
  source: SourceReport;
  /** Path of the tracking API as clients outside know it; `undefined` if the API is not served. */
  trackingPath: string | undefined;
}

function Source({ source, trackingPath }: SourceProps): JSX.Element {
  const { name, writeKey, enabled, tenant, usage } = source;
  const target = { origin: location.origin, path: trackingPath ?? '', writeKey };
  return (
    <section>
      <h2>{name}</h2>
      <p>
        <span class={enabled ? 'good' : 'bad'}>{enabled ? 'Enabled' : 'Disabled'}</span>
      </p>
      <p>
        Since this process started: {usage.received} received, {usage.filtered} of them filtered
        {tenant !== undefined && `, all for the tenant ${tenant}`}.
      </p>
      {trackingPath !== undefined &&
        Object.entries(snippetsFor(target)).map(([client, code]) => (
          <details key={client}>
            <summary>{client}</summary>
            <Copyable text={code} />
          </details>
        ))}
    </section>
  );
}
