import { AnalyticsError } from './analytics.error.js';

/** `@Track` or one of its siblings stands where it cannot work. Thrown when the class is defined. */
export class InvalidDecoratorTargetError extends AnalyticsError {
  readonly code = 'INVALID_DECORATOR_TARGET';

  constructor(decorator: string, member: string) {
    super(
      `${decorator} is on \`${member}\`, which is not a method of an instance. Put it on a method that is ` +
        'neither static nor an accessor.',
    );
  }
}
