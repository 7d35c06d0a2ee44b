import { type HTTPRequest, InterceptResolutionAction, type Page } from 'puppeteer-core';

/** Query that only the interception answers with this status. */
const PROBE = '?is-intercepted';
const INTERCEPTED = 204;

/** Takes requests of a page before they reach the application. */
export class Interception {
  /** Takes a request. If `undefined`, all requests pass. */
  private take: ((request: HTTPRequest) => void) | undefined;

  /** @param page returns the page, which is opened later */
  constructor(private readonly page: () => Page) {}

  /**
   * Takes some requests from now on, and lets the others pass.
   *
   * @param meant part of the method and URL of these requests
   * @param take called with each of them
   */
  async between(meant: string, take: (request: HTTPRequest) => void): Promise<void> {
    const page = this.page();
    this.take = (request) => {
      if (request.url().endsWith(PROBE)) void request.respond({ status: INTERCEPTED });
      else if (`${request.method()} ${request.url()}`.includes(meant)) take(request);
      else void request.continue();
    };
    // Before requests are held back: without a listener, a request would be held for ever.
    page.off('request', this.onRequest).on('request', this.onRequest);
    await page.setRequestInterception(true);
    // The browser answers before a busy page knows, and until then the requests of the page pass.
    const probe = `fetch(location.pathname + '${PROBE}').then(({ status }) => status)`;
    while ((await page.evaluate(probe)) !== INTERCEPTED);
  }

  /** Lets all requests pass. */
  passAll(): void {
    this.take = undefined;
  }

  async end(): Promise<void> {
    this.page().off('request', this.onRequest);
    await this.page().setRequestInterception(false);
  }

  private readonly onRequest = (request: HTTPRequest): void => {
    const { action } = request.interceptResolutionState();
    if (action === InterceptResolutionAction.Disabled || request.isInterceptResolutionHandled()) return;
    if (this.take === undefined) void request.continue();
    else this.take(request);
  };
}
