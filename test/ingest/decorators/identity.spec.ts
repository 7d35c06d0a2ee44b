import { describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Param,
  UseGuards,
} from '@nestjs/common';
import {
  Alias,
  type AnalyticsModuleOptions,
  defaultIdentity,
  Group,
  Identify,
  type IdentityResolver,
  Track,
} from '../../../src/index.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

/** Puts the JSON of a header on the request as its user, as a guard of an application would. */
@Injectable()
class UserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context
      .switchToHttp()
      .getRequest<{ user?: unknown; headers: Record<string, string | undefined> }>();
    request.user = JSON.parse(request.headers['x-user'] ?? 'null');
    return true;
  }
}

@Controller()
@UseGuards(UserGuard)
class AccountController {
  @Get()
  @Track('Opened')
  open(): void {
    // The call itself is the event.
  }

  @Get('orders/:customer')
  @Track('Order Changed', { userId: ({ args: [customer] }) => (customer === 'none' ? undefined : customer) })
  change(@Param('customer') customer: string): string {
    return customer;
  }

  @Get('signup')
  @Alias({ userId: ({ result }) => result.id })
  @Identify({ userId: ({ result }) => result.id, traits: ({ result }) => result })
  @Group({ userId: ({ result }) => result.id, groupId: 'g1', traits: { plan: 'free' } })
  signUp(): { id: string } {
    return { id: 'u9' };
  }

  @Get('merge')
  @Alias()
  merge(): void {
    // The call itself is the event.
  }
}

async function start(analytics: Partial<AnalyticsModuleOptions> = {}): Promise<DecoratedApp> {
  return apps.start({ controllers: [AccountController], providers: [UserGuard], analytics });
}

describe('who a message is about', () => {
  it.each([
    ['the id of its user', { 'x-user': '{"id":"u1","sub":"s1"}' }, { userId: 'u1' }],
    ['a number that is the id of its user', { 'x-user': '{"id":42}' }, { userId: '42' }],
    ["the id of its user as passport's strategies name it", { 'x-user': '{"userId":7}' }, { userId: '7' }],
    ['an id before a subject', { 'x-user': '{"id":"  ","sub":"s1","userId":"u1"}' }, { userId: 'u1' }],
    ['the subject of its token', { 'x-user': '{"sub":"s1"}' }, { userId: 's1' }],
    ['an anonymous id in a header', { 'x-anonymous-id': 'a1' }, { anonymousId: 'a1' }],
    ['a cookie', { cookie: 'theme=dark; ajs_anonymous_id=a%202' }, { anonymousId: 'a 2' }],
    ['a cookie in JSON', { cookie: 'ajs_anonymous_id=%22a3%22' }, { anonymousId: 'a3' }],
    ['a cookie that is not encoded well', { cookie: 'ajs_anonymous_id=%zz' }, { anonymousId: '%zz' }],
    [
      'an anonymous id of 255 characters',
      { 'x-anonymous-id': 'a'.repeat(255) },
      { anonymousId: 'a'.repeat(255) },
    ],
    [
      'the cookie where the header is longer',
      { 'x-anonymous-id': 'a'.repeat(256), cookie: 'ajs_anonymous_id=a4' },
      { anonymousId: 'a4' },
    ],
    [
      'a user where the cookie is longer',
      { 'x-user': '{"id":"u1"}', cookie: `ajs_anonymous_id=${'a'.repeat(256)}` },
      { userId: 'u1', anonymousId: undefined },
    ],
    ['both', { 'x-user': '{"id":"u1"}', 'x-anonymous-id': 'a1' }, { userId: 'u1', anonymousId: 'a1' }],
  ])('is taken from the request: %s', async (_name, headers, identity) => {
    const app = await start();
    await app.request('/', { headers });
    expect(app.messages).toEqual([expect.objectContaining(identity)]);
  });

  it('is taken from the option `identity`, which sees the request after its guards', async () => {
    const app = await start({
      identity: ({ type, request, host }) => ({
        userId: `${type} ${host.switchToHttp().getRequest<{ user: { id: string } }>().user.id}`,
        anonymousId: String(request?.headers['x-device']),
      }),
    });
    await app.request('/', { headers: { 'x-user': '{"id":"u1"}', 'x-device': 'd1' } });
    expect(app.messages).toEqual([expect.objectContaining({ userId: 'http u1', anonymousId: 'd1' })]);
  });

  it.each<[string, IdentityResolver, object]>([
    ['a user only', () => ({ userId: 'own' }), { userId: 'own', anonymousId: 'a1' }],
    ['an anonymous id only', () => ({ anonymousId: 'own' }), { userId: 'u1', anonymousId: 'own' }],
    ['a user that is not there', () => ({ userId: undefined }), { userId: undefined, anonymousId: 'a1' }],
    ['no anonymous id', () => ({ anonymousId: null }), { userId: 'u1', anonymousId: undefined }],
    [
      'what it makes of the default',
      (context) => ({ userId: `user ${defaultIdentity(context).userId}` }),
      { userId: 'user u1', anonymousId: 'a1' },
    ],
  ])('may be overridden by the option `identity`: %s', async (_name, identity, expected) => {
    const app = await start({ identity });
    await app.request('/', { headers: { 'x-user': '{"id":"u1"}', cookie: 'ajs_anonymous_id=a1' } });
    expect(app.messages).toEqual([expect.objectContaining(expected)]);
  });

  it('is unknown if `identity` returns nothing or a promise', async () => {
    for (const [identity, text] of [
      [() => undefined, 'no `userId` and no `anonymousId`'],
      [() => Promise.reject(new Error('late')), '`identity` to return an object, got a promise'],
    ] as const) {
      const app = await start(Object.assign<object, object>({}, { identity }));
      await app.request('/', { headers: { 'x-user': '{"id":"u1"}', 'x-anonymous-id': 'a1' } });
      expect(app.messages).toEqual([]);
      expect(app.logs.about('AccountController')).toEqual([expect.stringContaining(text)]);
    }
  });

  it('is the user that the decorator names, without any id of the sender of the request', async () => {
    const app = await start();
    await app.request('/orders/u7', { headers: { 'x-user': '{"id":"admin"}', 'x-anonymous-id': 'a1' } });
    expect(app.messages).toEqual([expect.objectContaining({ userId: 'u7', anonymousId: undefined })]);
  });

  it('is the sender of the request if the decorator names nobody', async () => {
    const app = await start();
    await app.request('/orders/none', { headers: { 'x-user': '{"id":"u1"}' } });
    expect(app.messages).toEqual([expect.objectContaining({ userId: 'u1' })]);
  });

  it('is linked with the anonymous id of the request by `@Alias`', async () => {
    const app = await start();
    await app.request('/signup', { headers: { 'x-anonymous-id': 'a1' } });
    expect(app.messages).toEqual([
      expect.objectContaining({ type: 'alias', userId: 'u9', previousId: 'a1' }),
      expect.objectContaining({ type: 'identify', userId: 'u9', traits: { id: 'u9' } }),
      expect.objectContaining({ type: 'group', userId: 'u9', groupId: 'g1', traits: { plan: 'free' } }),
    ]);
    await app.request('/merge', { headers: { 'x-user': '{"id":"u1"}', 'x-anonymous-id': 'a1' } });
    expect(app.messages.at(-1)).toMatchObject({ type: 'alias', userId: 'u1', previousId: 'a1' });
  });

  it('must be known: otherwise the message is dropped, with one warning that names the method', async () => {
    const app = await start();
    await app.request('/');
    await app.request('/');
    await app.request('/merge', { headers: { 'x-user': '{"id":"u1"}' } });
    expect(app.messages).toEqual([]);
    expect(app.logs.about('AccountController')).toEqual([
      expect.stringMatching(
        /^@Track\("Opened"\) on AccountController\.open has no `userId` and no `anonymousId`, so it is dropped\. /,
      ),
      expect.stringMatching(
        /^@Alias on AccountController\.merge has no `userId` or no `previousId`, so it is dropped\. /,
      ),
    ]);
  });
});
