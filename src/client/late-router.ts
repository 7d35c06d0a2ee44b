import type { Route, Router } from './router.js';

/**
 * Stands in for a router that is made when the application's providers are there. Until then messages are
 * held back.
 */
export class LateRouter implements Router {
  readonly forwards = false;
  private router: Router | undefined;
  private resolve: (router: Router) => void = () => undefined;
  private readonly made = new Promise<Router>((resolve) => {
    this.resolve = resolve;
  });

  use(router: Router): void {
    this.router = router;
    this.resolve(router);
  }

  get isReady(): boolean {
    return this.router !== undefined;
  }

  leads(source: string): boolean {
    return this.router?.leads(source) ?? true;
  }

  route(...message: Parameters<Router['route']>): Route | Promise<Route> {
    return this.router?.route(...message) ?? this.made.then((router) => router.route(...message));
  }
}
