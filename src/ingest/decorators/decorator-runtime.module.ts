import { Global, Module } from '@nestjs/common';
import { DECORATOR_RUNTIME, DecoratorRuntime } from './decorator-runtime.js';

/**
 * Global even with `isGlobal: false`. A module whose methods are decorated may inject no service, and without a
 * runtime, its decorators would silently record nothing.
 */
@Global()
@Module({
  providers: [{ provide: DECORATOR_RUNTIME, useFactory: () => new DecoratorRuntime() }],
  exports: [DECORATOR_RUNTIME],
})
export class DecoratorRuntimeModule {}
