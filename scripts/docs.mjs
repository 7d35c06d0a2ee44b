/**
 * Makes the documentation site: `npm run docs` builds it and checks its links, `npm run docs:dev` serves it while
 * you write.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const SITE = join(ROOT, 'docs/.vitepress/dist');
/** Files outside the site that link to its pages. */
const FILES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md'];

function run(program, ...args) {
  const { status } = spawnSync(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

/** Returns the HTML of the site's pages, by path. */
function builtPages() {
  const files = readdirSync(SITE, { recursive: true }).filter((name) => name.endsWith('.html'));
  return new Map(
    files.map((name) => [
      `/${name.replace(/(^|\/)index\.html$|\.html$/, '$1')}`,
      readFileSync(join(SITE, name), 'utf8'),
    ]),
  );
}

/** Returns the links to missing headings. VitePress itself fails only for links to missing pages. */
function deadAnchors(pages) {
  return Array.from(pages).flatMap(([page, html]) =>
    Array.from(html.matchAll(/<a [^>]*href="([^":]*#[^"]+)"/g), ([, href]) => href)
      .filter((href) => {
        const { pathname, hash } = new URL(href, new URL(page, 'https://site'));
        return !hasHeading(pages.get(pathname), hash);
      })
      .map((href) => `${page}: ${href}`),
  );
}

function deadLinksOf(file, pages) {
  const links = readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:\]\(|src=")([^):"#]+)(#[^)"]+)?[)"]/g);
  return Array.from(links)
    .filter(([, path, hash]) => {
      if (!existsSync(join(ROOT, path))) return true;
      const page = /^docs\/(.+)\.md$/.exec(path)?.[1];
      return page !== undefined && hash !== undefined && !hasHeading(pages.get(`/${page}`), hash);
    })
    .map(([link]) => `${file}: ${link}`);
}

function hasHeading(html, hash) {
  return html?.includes(`id="${decodeURIComponent(hash.slice(1))}"`) === true;
}

function checkLinks() {
  const pages = builtPages();
  const dead = [...deadAnchors(pages), ...FILES.flatMap((file) => deadLinksOf(file, pages))];
  if (dead.length === 0) return;
  process.stderr.write(`These links lead nowhere:\n${dead.join('\n')}\n`);
  process.exitCode = 1;
}

const isServed = process.argv[2] === 'dev';
// CI builds the site to check its links. The build of the package has already checked the types.
const unchecked = process.env.CI === 'true' ? ['--skipErrorChecking'] : [];
run('typedoc/bin/typedoc', '--options', 'docs/typedoc.json', ...unchecked);
run('vitepress/bin/vitepress.js', isServed ? 'dev' : 'build', 'docs');
if (!isServed) checkLinks();
