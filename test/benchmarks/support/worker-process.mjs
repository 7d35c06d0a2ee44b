import { openApp } from './app.mjs';

// A process that only delivers, with the options that it is given. It tells what it has cost until it is told to end.
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
