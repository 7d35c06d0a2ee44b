import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { createHttpAdapter } from './http-adapter.js';

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule, createHttpAdapter(), { logger: ['warn', 'error'] });
  app.enableShutdownHooks();
  await app.listen(process.env.PORT ?? 3000);
  console.log(`The shop is open on ${await app.getUrl()}`);
}
void bootstrap();
