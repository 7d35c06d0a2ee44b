/** The script and styles of the console's page. The build puts them into a module, so that bundles include them. */
export declare const SCRIPT: string;
export declare const STYLES: string;
