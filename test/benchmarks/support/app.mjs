import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule } from 'nestjs-analytics';

/** Returns a module that imports only `AnalyticsModule`, with one destination unless the options say otherwise. */
export function appModule(options) {
  class App {}
  Module({
    imports: [
      AnalyticsModule.forRoot({
        ...(options.sources === undefined && { writeKey: 'bench' }),
        webhooks: { urls: ['https://hooks.example.com/'] },
        ...options,
      }),
    ],
  })(App);
  return App;
}

/** Opens an application without an HTTP server. */
export function openApp(options) {
  return NestFactory.createApplicationContext(appModule(options), { logger: ['error'] });
}
