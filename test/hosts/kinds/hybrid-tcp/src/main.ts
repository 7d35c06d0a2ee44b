import { NestFactory } from '@nestjs/core';
import { Transport } from '@nestjs/microservices';
import { AppModule } from './app.module.js';
import { TCP_PORT } from './tcp-port.js';

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
  app.connectMicroservice({ transport: Transport.TCP, options: { port: TCP_PORT } });
  app.enableShutdownHooks();
  await app.startAllMicroservices();
  await app.listen(process.env.PORT ?? 3000);
  console.log(`The shop is open on ${await app.getUrl()}`);
}
void bootstrap();
