import { connect as connectTcp, isIP, type Socket, type TcpSocketConnectOpts } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { AddressRefusedError } from '../../errors/delivery.errors.js';
import { type HostLookup, HostResolver } from './host-resolver.js';
import type { NameLookup } from './name-cache.js';
import { isPublicAddress } from '../../shared/private-address.js';
import { type TlsSession, TlsSessions } from './tls-sessions.js';

/**
 * How long one of several addresses may take to connect before the next is tried, in milliseconds. Node's default of
 * 250 is too short for distant servers: only the last address would get enough time.
 */
const ADDRESS_ATTEMPT = 1_000;

export interface ConnectorOptions {
  /** Whether receivers in private networks may be reached. */
  allowPrivateNetwork: boolean;
  /** Resolves names. @default by a `HostResolver` of its own */
  lookup?: HostLookup | undefined;
  /** CA certificates to trust instead of the built-in ones, as PEM. @default the built-in ones */
  ca?: string | undefined;
}

/**
 * Opens a socket.
 *
 * @param onSocket called with each socket that is tried, which the caller may destroy before the callback is called
 * @param onLookup called with each look-up of the host
 */
export type Connector = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
  onSocket: (socket: Socket) => void,
  onLookup?: (lookup: NameLookup) => void,
) => void;

/**
 * Creates sockets that only reach public addresses. An IP literal is never looked up, so it is checked here.
 * The addresses of a name are checked in `lookup`, in the same resolution that connects, so that the name
 * cannot be rebound in between. The connected address is checked before a byte is sent.
 */
export function guardedConnector(options: ConnectorOptions): Connector {
  const resolve = options.lookup ?? new HostResolver().lookupFor(options);
  const isAllowed = options.allowPrivateNetwork ? (): boolean => true : isPublicAddress;
  const lookup = options.allowPrivateNetwork ? resolve : guardedLookup(resolve);

  const sessions = new TlsSessions();

  return ({ hostname, port, protocol }, callback, onSocket, onLookup) => {
    if (isIP(hostname) !== 0 && !isAllowed(hostname)) {
      process.nextTick(callback, new AddressRefusedError(), null);
      return;
    }
    const isSecure = protocol === 'https:';
    const target: TcpSocketConnectOpts = {
      host: hostname,
      port: Number(port || (isSecure ? 443 : 80)),
      lookup: (name, wanted, found) => {
        lookup(name, wanted, found, onLookup);
      },
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT,
    };
    const receiver = `${hostname}:${target.port}`;

    const open = (session?: TlsSession): void => {
      const socket = isSecure ? connectSecurely(target, session, options.ca) : connectTcp(target);
      if (socket instanceof TLSSocket) sessions.watch(receiver, socket, session);
      socket.setNoDelay(true).setKeepAlive(true, 60_000);
      onSocket(socket);

      let isReached = false;
      let isSettled = false;
      // This listener stays for the socket's life: an error without a listener would end the process.
      socket.on('error', (error: Error) => {
        if (isSettled) return;
        isSettled = true;
        // Some receivers break off the handshake if they cannot resume the session.
        if (isReached && session !== undefined) open();
        else callback(error, null);
      });
      socket.once('connect', () => {
        const reached = socket.remoteAddress;
        isReached = reached === undefined || isAllowed(reached);
        if (!isReached) socket.destroy(new AddressRefusedError());
      });
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        if (isSettled || socket.destroyed) return;
        isSettled = true;
        callback(null, socket);
      });
    };

    open(isSecure ? sessions.find(receiver) : undefined);
  };
}

function connectSecurely(target: TcpSocketConnectOpts, session?: TlsSession, ca?: string): TLSSocket {
  const { host = '' } = target;
  return connectTls({
    ...target,
    // A full stop at a name's end is for DNS alone (RFC 6066, section 3): some servers break off a handshake with it.
    ...(isIP(host) === 0 && { servername: host.replace(/\.$/, '') }),
    ...(ca !== undefined && { ca }),
    ...(session !== undefined && { session: session.ticket }),
    // Explicit, because the defaults can be weakened from the environment.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  });
}

/**
 * Refuses a name if any of the addresses that could be used is private, because timing decides which of them is
 * used.
 */
function guardedLookup(resolve: HostLookup): HostLookup {
  return (hostname, options, callback, onLookup) => {
    const judge: typeof callback = (error, answer, family) => {
      if (error !== null) {
        callback(error, answer, family);
        return;
      }
      const addresses = Array.isArray(answer) ? answer : [{ address: answer, family: family ?? 0 }];
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
        callback(new AddressRefusedError(), []);
      } else if (options.all === true) {
        callback(null, addresses);
      } else {
        callback(null, first.address, first.family);
      }
    };
    resolve(hostname, { ...options, all: true }, judge, onLookup);
  };
}
