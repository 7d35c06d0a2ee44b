import { UnknownJobFormatError } from '../errors/unknown-job-format.error.js';
import { BATCH_JOB_VERSION } from '../queue/batch-job.js';
import type { BatchJob, BatchProcessor } from './batch-processor.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { FailedForGood } from './job-outcome.errors.js';
import type { SharedJobProcessor } from './shared-job-processor.js';

/** Delivers jobs: those of one batch, and those that several share. */
export class JobProcessor {
  constructor(
    private readonly single: BatchProcessor,
    private readonly shared: SharedJobProcessor,
    private readonly reporter: DeliveryReporter,
  ) {}

  process(job: BatchJob, token: string | undefined, signal: AbortSignal): Promise<void> {
    const { v, batches } = job.data;
    if (v !== BATCH_JOB_VERSION) return Promise.reject(this.refusal(v));
    const [batch] = batches;
    if (batch === undefined || batches.length > 1) return this.shared.process(job, signal);
    return this.single.process(job, batch, token, signal);
  }

  private refusal(version: unknown): FailedForGood {
    const error = new UnknownJobFormatError(version);
    this.reporter.refused(error);
    return FailedForGood.because(error);
  }
}
