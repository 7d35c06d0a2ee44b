import { lookup as systemLookup } from 'node:dns';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import { AddressRefusedError } from '../../errors/address-refused.error.js';
import { isPublicAddress } from './private-address.js';

/**
 * How long one of several addresses may take to connect before the next is tried, in milliseconds.
 * Node's own 250 would give up on the far side of the world and leave only the last address.
 */
const ADDRESS_ATTEMPT = 1_000;

export interface ConnectorOptions {
  /** Whether receivers in private networks may be reached. */
  allowPrivateNetwork: boolean;
  /** Resolves names. @default the system's resolver */
  lookup?: LookupFunction | undefined;
  /** Certificates of authorities to trust instead of the built-in ones, as PEM. @default the built-in ones */
  ca?: string | undefined;
}

/** Opens a socket, which the caller may destroy before the callback was called. */
export type Connector = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
) => Socket | undefined;

/**
 * Makes sockets that reach public addresses only. An IP literal is never looked up, so it is checked
 * here; a name's answers are checked in `lookup`, in the same resolution that connects, so that a name
 * cannot be rebound in between; and the address that was reached is checked before a byte is sent.
 */
export function guardedConnector(options: ConnectorOptions): Connector {
  const resolve = options.lookup ?? systemLookup;
  const isAllowed = options.allowPrivateNetwork ? (): boolean => true : isPublicAddress;
  const lookup = options.allowPrivateNetwork ? resolve : guardedLookup(resolve);

  return ({ hostname, port, protocol }, callback) => {
    if (isIP(hostname) !== 0 && !isAllowed(hostname)) {
      process.nextTick(callback, new AddressRefusedError(), null);
      return undefined;
    }
    const isSecure = protocol === 'https:';
    const target = {
      host: hostname,
      lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT,
    };
    const socket = isSecure
      ? connectTls({
          ...target,
          port: Number(port || 443),
          ...(isIP(hostname) === 0 && { servername: hostname }),
          ...(options.ca !== undefined && { ca: options.ca }),
          // Explicit, because the defaults can be weakened from the environment.
          rejectUnauthorized: true,
          minVersion: 'TLSv1.2',
          ALPNProtocols: ['http/1.1'],
        })
      : connectTcp({ ...target, port: Number(port || 80) });
    socket.setNoDelay(true).setKeepAlive(true, 60_000);

    let isSettled = false;
    const fail = (error: Error): void => {
      if (isSettled) return;
      isSettled = true;
      callback(error, null);
    };
    // Stays on for the socket's life: an error that nobody hears would end the process.
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

/** Refuses a name as soon as one of its addresses is private: which of them is used is up to timing. */
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
