import { appendFileSync } from 'node:fs';

/**
 * Ends a run with a plain line that tells how many tests passed, failed and were skipped. `PASSED_SPECS` names a file
 * that gets the path of each spec as soon as that has passed: a run may be ended from outside.
 */
export default class SummaryReporter {
  onTestFileResult({ path }, { numFailingTests, testExecError }) {
    const { PASSED_SPECS } = process.env;
    if (PASSED_SPECS === undefined || numFailingTests > 0 || testExecError) return;
    appendFileSync(PASSED_SPECS, `${path}\n`);
  }

  onRunComplete(_contexts, results) {
    const { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites } = results;
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    process.stdout.write(`\n${numPassedTests} passed, ${failed} failed, ${numPendingTests} skipped\n`);
  }
}
