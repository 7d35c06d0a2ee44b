import { openApp } from './app.mjs';

// Only delivers, with the given options. Reports its CPU time whenever it is asked, until it is told to end.
const app = await openApp(JSON.parse(process.argv[2]));
process.on('disconnect', () => process.exit());
process.on('message', async (message) => {
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage();
    process.send(user + system);
    return;
  }
  await app.close();
  process.disconnect();
});
process.send('ready');
