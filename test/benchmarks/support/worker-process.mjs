import { openApp } from './app.mjs';

// A process that only delivers, with the options that it is given, until it is told to end.
const app = await openApp(JSON.parse(process.argv[2]));
process.on('disconnect', () => process.exit());
process.once('message', async () => {
  await app.close();
  process.disconnect();
});
process.send('ready');
