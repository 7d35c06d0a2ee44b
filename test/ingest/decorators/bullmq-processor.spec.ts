import { expect, it } from '@jest/globals';
import { BullModule, getQueueToken, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type Job, type Queue, QueueEvents } from 'bullmq';
import { Track } from '../../../src/index.js';
import { describeRedis } from '../../support/describe-backend.js';
import { DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

@Processor('mails')
class MailsProcessor extends WorkerHost {
  @Track('Mail Sent', {
    userId: ({ args: [job] }) => job.data.userId,
    properties: ({ result }) => ({ result }),
  })
  override process(job: Job<{ userId: string }>): Promise<string> {
    return Promise.resolve(`to ${job.data.userId}`);
  }

  @OnWorkerEvent('completed')
  @Track('Mail Job Completed', { userId: ({ args: [job] }) => job.data.userId })
  completed(job: Job<{ userId: string }>): string {
    return job.data.userId;
  }
}

describeRedis('the methods of a BullMQ processor', () => {
  it('are recorded', async () => {
    const connection = { host: '127.0.0.1', port: apps.queueServer?.port };
    const app = await apps.start({
      imports: [BullModule.forRoot({ connection }), BullModule.registerQueue({ name: 'mails' })],
      providers: [MailsProcessor],
    });
    const queue = app.nest.get<Queue>(getQueueToken('mails'), { strict: false });
    const events = new QueueEvents('mails', { connection });
    await events.waitUntilReady();
    const job = await queue.add('mail', { userId: 'u1' });
    await expect(job.waitUntilFinished(events)).resolves.toBe('to u1');
    await events.close();
    expect(app.messages).toEqual([
      expect.objectContaining({ event: 'Mail Sent', userId: 'u1', properties: { result: 'to u1' } }),
      expect.objectContaining({ event: 'Mail Job Completed', userId: 'u1' }),
    ]);
  });
});
