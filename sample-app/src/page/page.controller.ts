import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Controller, Get, StreamableFile } from '@nestjs/common';

const PAGE = fileURLToPath(new URL('../../public/index.html', import.meta.url));

/** The page with the customer's buttons on one side, and what the receiver got on the other. */
@Controller()
export class PageController {
  @Get()
  show(): StreamableFile {
    return new StreamableFile(createReadStream(PAGE), { type: 'text/html; charset=utf-8' });
  }
}
