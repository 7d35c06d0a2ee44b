import { writeFileSync } from 'node:fs';

/**
 * Closes a run with one plain line that tells how many tests passed and failed. `FAILED_SPECS` names a file for
 * the paths of the specs that failed, one a line.
 */
export default class SummaryReporter {
  onRunComplete(_contexts, results) {
    const { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites } = results;
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    process.stdout.write(`\n${numPassedTests} passed, ${failed} failed, ${numPendingTests} skipped\n`);
    const { FAILED_SPECS } = process.env;
    if (FAILED_SPECS === undefined) return;
    const specs = results.testResults.filter(
      ({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError !== undefined,
    );
    writeFileSync(FAILED_SPECS, specs.map(({ testFilePath }) => `${testFilePath}\n`).join(''));
  }
}
