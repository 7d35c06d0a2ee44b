import { describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Inject,
  Injectable,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  Scope,
  SetMetadata,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector, REQUEST } from '@nestjs/core';
import {
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiProperty,
  DocumentBuilder,
  SwaggerModule,
} from '@nestjs/swagger';
import { map, type Observable } from 'rxjs';
import { AnalyticsService, Track } from '../../../src/index.js';
import { DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

@Injectable()
class RoleGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return new Reflector().get<string | undefined>('role', context.getHandler()) === 'clerk';
  }
}

@Injectable()
class WrapInterceptor implements NestInterceptor {
  constructor(private readonly analytics: AnalyticsService) {}

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    this.analytics.track({ event: 'Intercepted', userId: 'u1' });
    return next.handle().pipe(map((order: unknown) => ({ order })));
  }
}

class Order {
  @ApiProperty()
  readonly id: number;

  constructor(id: number) {
    this.id = id;
  }
}

@Controller('first')
class DecoratedFirst {
  @Track('Opened', { userId: 'u1', properties: ({ args: [id] }) => ({ id }) })
  @Get(':id')
  @HttpCode(202)
  @Header('x-shop', 'yes')
  @SetMetadata('role', 'clerk')
  @UseGuards(RoleGuard)
  @UseInterceptors(WrapInterceptor)
  @ApiOperation({ summary: 'Opens an order' })
  @ApiParam({ name: 'id', description: 'its number' })
  @ApiOkResponse({ type: Order })
  open(@Param('id', ParseIntPipe) id: number): Order {
    return new Order(id);
  }
}

@Controller('last')
class DecoratedLast {
  @Get(':id')
  @HttpCode(202)
  @Header('x-shop', 'yes')
  @SetMetadata('role', 'clerk')
  @UseGuards(RoleGuard)
  @UseInterceptors(WrapInterceptor)
  @ApiOperation({ summary: 'Opens an order' })
  @ApiParam({ name: 'id', description: 'its number' })
  @ApiOkResponse({ type: Order })
  @Track('Opened', { userId: 'u1', properties: ({ args: [id] }) => ({ id }) })
  open(@Param('id', ParseIntPipe) id: number): Order {
    return new Order(id);
  }
}

@Controller('bare')
class Bare {
  @Get(':id')
  @HttpCode(202)
  @Header('x-shop', 'yes')
  @SetMetadata('role', 'clerk')
  @UseGuards(RoleGuard)
  @UseInterceptors(WrapInterceptor)
  @ApiOperation({ summary: 'Opens an order' })
  @ApiParam({ name: 'id', description: 'its number' })
  @ApiOkResponse({ type: Order })
  open(@Param('id', ParseIntPipe) id: number): Order {
    return new Order(id);
  }
}

const PROVIDERS = [RoleGuard, WrapInterceptor];

describe.each([
  ['above', DecoratedFirst, 'first'],
  ['below', DecoratedLast, 'last'],
] as const)("a decorator %s all of Nest's own decorators", (_where, controller, path) => {
  it('leaves the route, its guards, pipes, interceptors and headers as they are', async () => {
    const app = await apps.start({ controllers: [controller], providers: PROVIDERS });
    const response = await fetch(await app.url(`/${path}/7`));
    expect(response.status).toBe(202);
    expect(response.headers.get('x-shop')).toBe('yes');
    await expect(response.json()).resolves.toEqual({ order: { id: 7 } });
    await expect(app.request(`/${path}/seven`)).resolves.toMatchObject({ status: 400 });
    expect(app.messages.at(1)).toMatchObject({ event: 'Opened', properties: { id: 7 } });
  });

  it('enters the request before the other interceptors of the method', async () => {
    const app = await apps.start({ controllers: [controller], providers: PROVIDERS });
    await app.request(`/${path}/7`);
    expect(app.messages[0]).toMatchObject({ event: 'Intercepted', context: { ip: '127.0.0.1' } });
  });

  it('leaves the Swagger document as it is', async () => {
    const app = await apps.start({ controllers: [controller, Bare], providers: PROVIDERS });
    const { paths } = SwaggerModule.createDocument(app.nest, new DocumentBuilder().build(), {
      operationIdFactory: (_controller, method) => method,
    });
    const operation = paths[`/${path}/{id}`]?.get;
    expect(operation).toMatchObject({ summary: 'Opens an order', operationId: 'open' });
    expect({ ...operation, tags: [] }).toEqual({ ...paths['/bare/{id}']?.get, tags: [] });
  });
});

@Controller({ path: 'scoped', scope: Scope.REQUEST })
class ScopedController {
  constructor(@Inject(REQUEST) private readonly request: { url: string }) {}

  @Get()
  @Track('Opened', { userId: 'u1', properties: ({ result }) => ({ result }) })
  open(): string {
    return this.request.url;
  }
}

describe('a request-scoped controller', () => {
  it.each(['express', 'fastify'] as const)('is recorded with its request on %s', async (adapter) => {
    const app = await apps.start({ adapter, controllers: [ScopedController] });
    await expect(app.request('/scoped')).resolves.toEqual({ status: 200, body: '/scoped' });
    expect(app.messages).toEqual([
      expect.objectContaining({
        properties: { result: '/scoped' },
        context: expect.objectContaining({ ip: '127.0.0.1' }),
      }),
    ]);
  });
});

describe('a decorated handler in an application without the module', () => {
  it('answers as usual', async () => {
    const app = await apps.start({ controllers: [ScopedController], withoutAnalytics: true });
    await expect(app.request('/scoped')).resolves.toEqual({ status: 200, body: '/scoped' });
  });
});
