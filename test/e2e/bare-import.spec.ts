/** In a file of its own, so that no earlier test has set the module up, as in a new application. */
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { AnalyticsModule, AnalyticsService } from '../../src/index.js';
import { AnalyticsTestingModule } from '../../src/testing/index.js';

@Injectable()
class Orders {
  constructor(readonly analytics: AnalyticsService) {}
}

@Module({ providers: [Orders] })
class OrdersModule {}

@Module({ imports: [AnalyticsModule], providers: [Orders] })
class InRoot {}

@Module({ imports: [OrdersModule, AnalyticsModule] })
class InFeature {}

@Module({ imports: [AnalyticsTestingModule], providers: [Orders] })
class InTest {}

@Module({ imports: [AnalyticsTestingModule] })
class WithoutService {}

describe('an import without options', () => {
  function creating(root: Type): Promise<unknown> {
    return NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  }

  it.each([InRoot, InFeature])('is refused with an error that says what to import: %p', async (root) => {
    const refusal = { code: 'INVALID_IMPORT', message: expect.stringMatching(/`AnalyticsModule\.forRoot\(/) };
    await expect(creating(root)).rejects.toMatchObject(refusal);
    await expect(Test.createTestingModule({ imports: [root] }).compile()).rejects.toMatchObject(refusal);
  });

  it.each([InTest, WithoutService])('is refused for the testing module: %p', async (root) => {
    await expect(Test.createTestingModule({ imports: [root] }).compile()).rejects.toMatchObject({
      code: 'INVALID_IMPORT',
      message: expect.stringMatching(/Import `AnalyticsTestingModule\.forRoot\(\)`/),
    });
  });

  it('is refused for the testing module after another application was set up', async () => {
    await Test.createTestingModule({ imports: [AnalyticsTestingModule.forRoot()] }).compile();
    await expect(creating(WithoutService)).rejects.toMatchObject({ code: 'INVALID_IMPORT' });
  });
});
