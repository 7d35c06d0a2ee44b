import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { AnalyticsModule } from 'nestjs-analytics';

// Serves the tracking API, and a path that gives the same answer without doing anything.
const [connection, writeKey] = process.argv.slice(2);
class AppModule {}
Module({
  imports: [
    AnalyticsModule.forRoot({
      writeKey,
      webhooks: { urls: ['https://hooks.example.com'] },
      connection,
      trackingApi: true,
      worker: false,
    }),
  ],
})(AppModule);
const app = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: false });
app.use('/nothing', (request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
  });
});
await app.listen(0, '127.0.0.1');
process.once('message', async () => {
  await app.close();
  process.exit();
});
process.send(await app.getUrl());
