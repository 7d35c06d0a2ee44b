import type { Server } from 'node:http';
import type { OnModuleInit } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { UnsupportedAdapterError } from '../errors/setup.errors.js';
import { hiddenRoutes, type HostRoute } from './host-routes.js';
import type { HttpHandler } from './http-handler.js';
import { answerBeforeExpress, type ExpressInstance, expressRoutes, mountOnExpress } from './mount-express.js';
import { collectFastifyRoutes, type FastifyInstance, mountOnFastify } from './mount-fastify.js';

export interface MountLogger {
  warn(message: string): void;
}

/** Mounts a handler on the application's web server. Does nothing if the application has none. */
export class HttpMount implements OnModuleInit {
  /** Finishes mounting once the application has its server, and returns the host's own routes. */
  private finish: (() => readonly HostRoute[]) | undefined;

  /**
   * Mounts at once if the application has a web server, and so before any route of the host.
   *
   * @throws UnsupportedAdapterError
   */
  constructor(
    host: HttpAdapterHost,
    private readonly handler: HttpHandler,
    private readonly logger: MountLogger,
  ) {
    if (hasAdapter(host)) {
      this.mountOn(host.httpAdapter);
      return;
    }
    // A testing module gets its adapter when its application is created.
    host.init$.subscribe(() => {
      if (hasAdapter(host)) this.mountOn(host.httpAdapter);
    });
  }

  /** The host's routes are registered by now, and its server exists. */
  onModuleInit(): void {
    const routes = this.finish?.() ?? [];
    for (const line of hiddenRoutes(routes, this.handler.routes)) this.logger.warn(line);
  }

  private mountOn(adapter: HttpAdapterHost['httpAdapter']): void {
    const instance: unknown = adapter.getInstance();
    if (isFastify(instance)) {
      mountOnFastify(instance, this.handler);
      const routes = collectFastifyRoutes(instance);
      this.finish = () => routes;
    } else if (isExpress(instance)) {
      mountOnExpress(instance, this.handler);
      this.finish = () => {
        const server: unknown = adapter.getHttpServer();
        if (isServer(server)) answerBeforeExpress(server, instance, this.handler);
        return expressRoutes(instance);
      };
    } else {
      throw new UnsupportedAdapterError(adapter.getType(), this.handler.routes.name);
    }
  }
}

/** Returns whether there is an adapter. Despite the type, an application without a web server has none. */
function hasAdapter({ httpAdapter }: { httpAdapter: unknown }): boolean {
  return isObject(httpAdapter);
}

function isFastify(instance: unknown): instance is FastifyInstance {
  return isObject(instance) && 'addHook' in instance && 'server' in instance;
}

function isExpress(instance: unknown): instance is ExpressInstance {
  return isObject(instance) && 'use' in instance && 'request' in instance && 'router' in instance;
}

function isServer(server: unknown): server is Server {
  return isObject(server) && 'rawListeners' in server;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}
