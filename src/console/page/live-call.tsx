import { Fragment, type JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { indented } from './json-text.js';
import { Details } from './parts.js';
import type { ShownCall } from './use-live.js';

const CLASSES = { taken: 'good', dropped: 'waiting', refused: 'bad' };

interface LiveCallProps {
  call: ShownCall;
  isOperator: boolean;
  /** Shows only the calls of a user. */
  onFollow: (user: string) => void;
}

/** A call, and its JSON once opened. Rendered once, however often the list is redrawn while calls arrive. */
export function LiveCall(props: LiveCallProps): JSX.Element {
  const { call, isOperator, onFollow } = props;
  return useMemo(
    () => (
      <li class="row">
        <Details summary={<Summary call={call} isOperator={isOperator} />}>
          {() => <Contents call={call} onFollow={onFollow} />}
        </Details>
      </li>
    ),
    [call, isOperator, onFollow],
  );
}

/** The line of a call. Each name is isolated, so that a right-to-left name does not reorder the text after it. */
function Summary({ call, isOperator }: Pick<LiveCallProps, 'call' | 'isOperator'>): JSX.Element {
  const { at, outcome, source, tenant, type, name } = call;
  const time = new Date(at);
  return (
    <>
      <time dateTime={time.toISOString()} title={time.toLocaleString()}>
        {time.toLocaleTimeString()}
      </time>{' '}
      <span class={CLASSES[outcome]}>{outcome}</span> {type}{' '}
      <b>
        <bdi>{name}</bdi>
      </b>{' '}
      <small>
        {[userOf(call), source, isOperator && tenant].filter(Boolean).map((text, index) => (
          <Fragment key={index}>
            {index > 0 && ' · '}
            <bdi>{text}</bdi>
          </Fragment>
        ))}
      </small>
    </>
  );
}

function Contents({ call, onFollow }: Pick<LiveCallProps, 'call' | 'onFollow'>): JSX.Element {
  const { outcome, reason, messageId, json, isCut } = call;
  const user = userOf(call);
  return (
    <>
      {reason !== undefined && <p class={CLASSES[outcome]}>{reason}</p>}
      {user !== undefined && (
        <p class="bar">
          <button
            type="button"
            onClick={() => {
              onFollow(user);
            }}
          >
            Follow {user}
          </button>
        </p>
      )}
      {messageId !== undefined && (
        <p>
          Message <code>{messageId}</code>
        </p>
      )}
      {isCut === true && <p>The event is long, so only its beginning is shown.</p>}
      {json !== undefined && <pre tabIndex={0}>{isCut === true ? json : indented(JSON.parse(json))}</pre>}
    </>
  );
}

function userOf({ userId, anonymousId }: ShownCall): string | undefined {
  return userId ?? anonymousId;
}
