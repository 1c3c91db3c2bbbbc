// Starts one Neo4j Community server in this JVM and stays until it is told to stop.
//
//   java [options] -cp 'LIB/*' Launcher.java HOME CONFIGURATION [--parent PID]
//
// --parent PID   stop the server as soon as that process is gone (killed, too)

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

public final class Launcher {
    private static final AtomicBoolean STARTED = new AtomicBoolean();

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 2) {
            System.err.println("usage: Launcher HOME CONFIGURATION [--parent PID]");
            System.exit(2);
        }
        List<String> options = Arrays.asList(arguments).subList(2, arguments.length);
        // The watcher comes first: the one who asked may be gone before the database is up.
        int parent = options.indexOf("--parent");
        if (parent >= 0) {
            watchProcess(Long.parseLong(options.get(parent + 1)));
        }
        DatabaseManagementService service = start(Path.of(arguments[0]), Path.of(arguments[1]));
        Runtime.getRuntime().addShutdownHook(new Thread(service::shutdown, "shutdown"));
        STARTED.set(true);
        System.out.println("Neo4j started.");
        Thread.currentThread().join();
    }

    private static DatabaseManagementService start(Path home, Path configuration) {
        try {
            return new DatabaseManagementServiceBuilder(home).loadPropertiesFromFile(configuration).build();
        } catch (RuntimeException | Error failure) {
            // Threads of the half-started server would keep the process alive, serving nothing.
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
            throw failure;
        }
    }

    private static void watchProcess(long pid) {
        ProcessHandle.of(pid).ifPresentOrElse(
                handle -> handle.onExit().thenRun(() -> stop("process " + pid + " is gone")),
                () -> stop("process " + pid + " does not exist"));
    }

    private static void stop(String reason) {
        System.out.println("Stopping: " + reason + ".");
        if (STARTED.get()) {
            System.exit(0);
        }
        // Half a start has no service to shut down; the store recovers from its log, as after a crash.
        Runtime.getRuntime().halt(0);
    }
}
