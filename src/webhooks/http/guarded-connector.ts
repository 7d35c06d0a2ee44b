import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import { AddressRefusedError } from '../../errors/delivery.errors.js';
import { HostResolver } from './host-resolver.js';
import { isPublicAddress } from '../../shared/private-address.js';
import { TlsSessions } from './tls-sessions.js';

/**
 * How long one of several addresses may take to connect before the next is tried, in milliseconds. Node's
 * default of 250 is too short for distant servers: it would leave only the last address for them.
 */
const ADDRESS_ATTEMPT = 1_000;

export interface ConnectorOptions {
  /** Whether receivers in private networks may be reached. */
  allowPrivateNetwork: boolean;
  /** Resolves names. @default by a `HostResolver` of its own */
  lookup?: LookupFunction | undefined;
  /** CA certificates to trust instead of the built-in ones, as PEM. @default the built-in ones */
  ca?: string | undefined;
}

/** Opens a socket, which the caller may destroy before the callback is called. */
export type Connector = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
) => Socket | undefined;

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

  return ({ hostname, port, protocol }, callback) => {
    if (isIP(hostname) !== 0 && !isAllowed(hostname)) {
      process.nextTick(callback, new AddressRefusedError(), null);
      return undefined;
    }
    const target = {
      host: hostname,
      lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT,
    };
    const isSecure = protocol === 'https:';
    let socket: Socket;
    if (isSecure) {
      const receiver = `${hostname}:${port || 443}`;
      const session = sessions.find(receiver);
      const secured = connectTls({
        ...target,
        port: Number(port || 443),
        // A full stop at its end belongs to DNS alone (RFC 6066, section 3): some servers break the handshake off.
        ...(isIP(hostname) === 0 && { servername: hostname.replace(/\.$/, '') }),
        ...(options.ca !== undefined && { ca: options.ca }),
        ...(session !== undefined && { session }),
        // Explicit, because the defaults can be weakened from the environment.
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
        ALPNProtocols: ['http/1.1'],
      });
      sessions.watch(receiver, secured);
      socket = secured;
    } else {
      socket = connectTcp({ ...target, port: Number(port || 80) });
    }
    socket.setNoDelay(true).setKeepAlive(true, 60_000);

    let isSettled = false;
    const fail = (error: Error): void => {
      if (isSettled) return;
      isSettled = true;
      callback(error, null);
    };
    // It stays for the socket's life: an error without a listener would end the process.
    socket.on('error', fail);
    socket.once('connect', () => {
      const reached = socket.remoteAddress;
      if (reached !== undefined && !isAllowed(reached)) socket.destroy(new AddressRefusedError());
    });
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      if (isSettled || socket.destroyed) return;
      isSettled = true;
      callback(null, socket);
    });
    return socket;
  };
}

/**
 * Refuses a name if any of the addresses that could be used is private, because timing decides which of them is
 * used.
 */
function guardedLookup(resolve: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, answer, family) => {
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
    });
  };
}
