import { type JSX, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Api } from './api.js';
import { DestinationForm } from './destination-form.js';
import { DestinationList } from './destination-list.js';
import { DestinationPage } from './destination-page.js';
import { LivePage } from './live-page.js';
import { MessagePage } from './message-page.js';
import { OverviewPage } from './overview-page.js';
import { beginPage, type PageChange, PageChanges, PageHeading } from './page-heading.js';
import { Secret } from './parts.js';
import { SourcesPage } from './sources-page.js';
import { holdsLink, takeLink, tenantIn } from './take-link.js';
import './page.css';
import './controls.css';
import './charts.css';
import './lists.css';

interface PageProps {
  api: Api;
  isOperator: boolean;
}

function NewDestination({ api, isOperator }: PageProps): JSX.Element {
  const [created, setCreated] = useState<{ id: string; secret?: string }>();
  if (created === undefined) {
    return (
      <section>
        <PageHeading>Add a destination</PageHeading>
        <DestinationForm
          isOperator={isOperator}
          save={async (fields) => {
            setCreated(await api.create(fields));
          }}
        />
      </section>
    );
  }
  return (
    <section>
      <PageHeading>The destination was added</PageHeading>
      {created.secret !== undefined && <Secret text={created.secret} />}
      <p>
        <a href={`#/destinations/${encodeURIComponent(created.id)}`}>Show it</a>
      </p>
    </section>
  );
}

/**
 * The page that the address names after its `#`.
 *
 * @param tenant the tenant named above the page; `undefined` for the operator and in a frame
 */
function Page({ api, isOperator, tenant }: PageProps & { tenant: string | undefined }): JSX.Element {
  const [hash, setHash] = useState(location.hash);
  const change = useRef<PageChange>({ from: undefined });
  const shown = useRef(hash);
  useEffect(() => {
    const onChange = (): void => {
      if (location.hash === shown.current) return;
      shown.current = location.hash;
      beginPage(change.current);
      setHash(location.hash);
    };
    addEventListener('hashchange', onChange);
    // The address may have changed since the first rendering.
    onChange();
    return () => {
      removeEventListener('hashchange', onChange);
    };
  }, []);
  return (
    <PageChanges.Provider value={change.current}>
      <Navigation hash={hash} pages={isOperator ? PAGES : OWN_PAGES} />
      {tenant !== undefined && (
        <p class="tenant">
          Tenant{' '}
          <b>
            <bdi>{tenant}</bdi>
          </b>
        </p>
      )}
      {content(hash, { api, isOperator })}
    </PageChanges.Provider>
  );
}

/** The pages of the operator. */
const PAGES = {
  '#/': 'Overview',
  '#/live': 'Live',
  '#/destinations': 'Destinations',
  '#/sources': 'Sources',
};
/** The pages of a tenant. */
const OWN_PAGES = { '#/': 'Destinations', '#/live': 'Live' };

function Navigation({ hash, pages }: { hash: string; pages: Record<string, string> }): JSX.Element {
  // The page that adds a destination is below none of these paths.
  const meant = hash === '#/new' && '#/destinations' in pages ? '#/destinations' : hash;
  const shown = Object.keys(pages).findLast((page) => meant.startsWith(page)) ?? '#/';
  return (
    <nav class="bar" aria-label="Pages">
      {Object.entries(pages).map(([page, name]) => (
        <a key={page} href={page} aria-current={page === shown ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

/** Decodes a part of an address. Returns a broken part, as of a link that was cut, as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function content(hash: string, { api, isOperator }: PageProps): JSX.Element {
  if (isOperator && hash === '#/sources') return <SourcesPage api={api} />;
  if (hash === '#/live') return <LivePage key={hash} api={api} isOperator={isOperator} />;
  if (hash === '#/new') return <NewDestination key={hash} api={api} isOperator={isOperator} />;
  const [, of, message] = /^#\/destinations\/([^/]+)\/messages\/(.+)$/.exec(hash) ?? [];
  if (of !== undefined && message !== undefined) {
    return <MessagePage key={hash} api={api} id={decoded(of)} messageId={decoded(message)} />;
  }
  const id = /^#\/destinations\/(.+)$/.exec(hash)?.[1];
  const isFirst = hash === '' || hash === '#/';
  if (isOperator && isFirst) return <OverviewPage key={hash} api={api} />;
  if (id === undefined) return <DestinationList key={hash} api={api} isOperator={isOperator} />;
  return <DestinationPage key={hash} api={api} id={decoded(id)} isOperator={isOperator} />;
}

/** Shown in a tab that was opened from the tab with the link: only that tab knows the token of the link. */
function LinkElsewhere(): JSX.Element {
  return (
    <p class="problem" role="alert">
      Your link is known only to the tab in which you opened it. Continue there, or open the link in this tab
      too.
    </p>
  );
}

const root = document.getElementById('page');
if (root !== null) {
  const { api = '', console = '', operator, tenant, link } = root.dataset;
  // A proxy in front of the application may serve it below a path of its own.
  const { pathname } = new URL(root.dataset.root ?? '/', location.href);
  // After two slashes at the start, the next name would be that of a host.
  const base = pathname.replace(/^\/+/, '/').slice(0, -1);
  const signedIn = tenant === undefined ? undefined : decodeURIComponent(tenant);
  // A frame does not name the tenant: the page around it is the customer's own, and the name may be a mere number.
  const isFramed = window.parent !== window;
  const tenantWith = (token: string | undefined): string | undefined => {
    if (isFramed) return undefined;
    return token === undefined ? signedIn : tenantIn(token);
  };
  let visits = 0;
  const show = (token?: string): void => {
    // A new key, so that nothing stays of what was shown with another link.
    const key = ++visits;
    const page =
      token === '' ? (
        <LinkElsewhere key={key} />
      ) : (
        <Page
          key={key}
          api={new Api(base, { api, console }, token)}
          isOperator={operator !== undefined}
          tenant={tenantWith(token)}
        />
      );
    render(page, root);
  };
  if (link === undefined) {
    show();
  } else {
    let shown = takeLink();
    show(shown);
    const follow = (): void => {
      const isGiven = holdsLink();
      const before = shown;
      shown = takeLink(before);
      if (isGiven || shown !== before) show(shown);
    };
    // The browser does not reload the page when a frame or tab gets another link or goes back to the previous link.
    for (const event of ['popstate', 'hashchange']) addEventListener(event, follow);
  }
}
